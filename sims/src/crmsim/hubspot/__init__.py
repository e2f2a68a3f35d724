"""A simulated HubSpot account: contacts, companies, owners, associations, and the limits around them."""
