"""The only room that knows the concrete: Settings -> stores + sources + destinations + engine + doors."""
