"""Microdata: coded columns with roles, the domains they are coded by, and where they come from."""
