"""Floor 3: custody of private keys. They sign and unseal inside and never leave."""
