"""HashiCorp Vault and OpenBao: secrets of KV engines, kept while the server is silent."""
