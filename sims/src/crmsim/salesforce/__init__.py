"""Salesforce, to the extent that a lead router meets it."""
