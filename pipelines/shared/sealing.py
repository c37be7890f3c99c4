"""Encrypts bytes with the platform's credentials: AES-256-GCM, by Parquet's encryption."""

import hashlib
import hmac
import io
import os
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.parquet import encryption as parquet_encryption

# The stubs of pyarrow lack the newer functions.
encryption: Any = parquet_encryption

#: Random bytes that derive a new key for each sealing.
SALT = 16


class Unreadable(Exception):
    """Content that was sealed with other credentials or for another name, or that is torn."""


class Seal:
    """Encrypts with a key derived from the client secret, which all workers have in their settings."""

    def __init__(self, base_url: str, client_id: str, client_secret: str) -> None:
        self._key = hashlib.scrypt(
            client_secret.encode(), salt=f"{base_url} {client_id}".encode(), n=2**14, r=8, p=1, dklen=32
        )

    def close(self, name: str, content: bytes) -> bytes:
        """Encrypt the content of a name."""
        salt, sealed = os.urandom(SALT), io.BytesIO()
        properties = encryption.create_encryption_properties(
            self._key_of(salt), aad_prefix=name.encode(), store_aad_prefix=False
        )
        pq.write_table(pa.table({"content": [content]}), sealed, encryption_properties=properties)
        return salt + sealed.getvalue()

    def open(self, name: str, sealed: bytes) -> bytes:
        """Decrypt the content of a name. Raises Unreadable."""
        properties = encryption.create_decryption_properties(
            self._key_of(sealed[:SALT]), aad_prefix=name.encode()
        )
        try:
            file = pq.ParquetFile(io.BytesIO(sealed[SALT:]), decryption_properties=properties)
            content: bytes = file.read()["content"][0].as_py()
        except (OSError, pa.ArrowException) as error:
            raise Unreadable from error
        return content

    def _key_of(self, salt: bytes) -> bytes:
        return hmac.digest(self._key, salt, "sha256")
