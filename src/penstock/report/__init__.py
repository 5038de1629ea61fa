"""What people see: tables, progress and pictures. Takes plain values, knows nothing of joins."""
