"""The optional front door: requests are durable in a stream of Valkey or Redis before PostgreSQL has them."""
