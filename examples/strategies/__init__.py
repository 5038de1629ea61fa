"""Three strategies written from nothing: docs/extending.md explains them."""
