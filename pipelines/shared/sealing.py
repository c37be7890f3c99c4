"""Bytes that nobody reads without the platform's credentials: AES-256-GCM, as encrypted Parquet has it."""

import hashlib
import hmac
import io
import os
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.parquet import encryption as parquet_encryption

# Of newer functions its stubs know nothing.
encryption: Any = parquet_encryption

# A key of its own for each sealing comes of these many random bytes.
SALT = 16


class Unreadable(Exception):
    """It was sealed with other credentials, for another name, or is torn."""


class Seal:
    """Seals with a key that follows from the client's secret, which all workers have in their settings."""

    def __init__(self, base_url: str, client_id: str, client_secret: str) -> None:
        self._key = hashlib.scrypt(
            client_secret.encode(), salt=f"{base_url} {client_id}".encode(), n=2**14, r=8, p=1, dklen=32
        )

    def close(self, name: str, content: bytes) -> bytes:
        """Seal what is kept under this name."""
        salt, sealed = os.urandom(SALT), io.BytesIO()
        properties = encryption.create_encryption_properties(
            self._own(salt), aad_prefix=name.encode(), store_aad_prefix=False
        )
        pq.write_table(pa.table({"content": [content]}), sealed, encryption_properties=properties)
        return salt + sealed.getvalue()

    def open(self, name: str, sealed: bytes) -> bytes:
        """What was sealed under this name; raises Unreadable."""
        properties = encryption.create_decryption_properties(
            self._own(sealed[:SALT]), aad_prefix=name.encode()
        )
        try:
            file = pq.ParquetFile(io.BytesIO(sealed[SALT:]), decryption_properties=properties)
            content: bytes = file.read()["content"][0].as_py()
        except (OSError, pa.ArrowException) as error:
            raise Unreadable from error
        return content

    def _own(self, salt: bytes) -> bytes:
        return hmac.digest(self._key, salt, "sha256")
