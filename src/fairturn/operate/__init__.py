"""The operator's verbs: what the command line, the API and the dashboard call alike."""
