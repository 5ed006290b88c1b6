"""The deletion certificate: is it shown that named patients were forgotten? `deletion_certificate` is the door."""
