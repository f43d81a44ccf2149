"""Destinations of every kind, on this machine, each of which tells whether it is as a line is."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg

from sfumato.tasks.destinations.declared import DatabaseDestination, StoreDestination
from sfumato.tasks.destinations.deliver import Delivered, deliver, remember
from sfumato.tasks.lines.line import Line
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.query.ask import files_of_tables
from sfumato.tasks.query.engines.engine import read_table
from sfumato.tasks.terms.opened import open_release
from tests.query.databases import postgres
from tests.query.dialect_laws import comparable
from tests.sources.simulator import SECRET, simulator

PREFIX = "open/data"


def no_blocks(_: Any) -> AbstractContextManager[None]:
    """Have secrets from the environment alone."""
    return nullcontext()


class StorePlace:
    """A bucket of a simulated store."""

    kind = "store"

    def __init__(self, environ: Mapping[str, str], client: Any) -> None:
        self.environ, self.client = dict(environ), client
        self.bucket = f"b{uuid4().hex}"
        client.create_bucket(Bucket=self.bucket)
        self.declared = StoreDestination(uri=f"s3://{self.bucket}/{PREFIX}")

    def objects(self) -> dict[str, bytes]:
        """Return the bucket's objects, as this process' simulator has them: without requests."""
        from moto.core import DEFAULT_ACCOUNT_ID
        from moto.s3.models import FakeKey, s3_backends

        objects_of_bucket = s3_backends[DEFAULT_ACCOUNT_ID]["aws"].buckets[self.bucket].keys
        return {
            name: key.value for name, key in objects_of_bucket.items() if isinstance(key, FakeKey)
        }

    def read(self, key: str) -> bytes:
        return self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read()

    def write(self, key: str, content: bytes) -> None:
        self.client.put_object(Bucket=self.bucket, Key=key, Body=content)

    def require_as(self, line: Line) -> None:
        """Make sure that there is what is in the line's directory, byte by byte, and claims."""
        expected = {
            f"{PREFIX}/{line.name}/{path.relative_to(line.public).as_posix()}": path.read_bytes()
            for path in line.public.rglob("*")
            if path.is_file() and not path.relative_to(line.public).parts[0].startswith(".")
        }
        objects = self.objects()
        beside = {key for key in objects if not key.startswith(f"{PREFIX}/{line.name}/")}
        assert beside <= {f"{PREFIX}/{n}" for n in ("index.html", "feed.atom", "dcat.jsonld")}
        objects = {k: v for k, v in objects.items() if k not in beside and "/.claims/" not in k}
        assert sorted(objects) == sorted(expected)
        assert objects == expected

    def download(self, folder: Path) -> Path:
        """The copy as files, as an analyst downloads it."""
        for key, content in self.objects().items():
            place = folder / key
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        return folder / PREFIX


class DatabasePlace:
    """A database of its own."""

    kind = "database"

    def __init__(self) -> None:
        self.name = f"d{uuid4().hex}"
        with psycopg.connect(postgres(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {self.name}")
        server = urlsplit(postgres())
        self.address = server._replace(path=f"/{self.name}").geturl()
        self.declared = DatabaseDestination(uri=self.address)
        self.environ: dict[str, str] = {}

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.address, autocommit=True) as connection:
            result = connection.execute(sql)
            return result.fetchall() if result.description else []

    def schemas(self) -> dict[str, Any]:
        """Return what the comments of our schemas say."""
        rows = self.ask("SELECT nspname, obj_description(oid, 'pg_namespace') FROM pg_namespace")
        marked = {
            name: comment for name, comment in rows if comment and comment.startswith('{"sfumato"')
        }
        return {name: json.loads(comment) for name, comment in marked.items()}

    def require_as(self, line: Line) -> None:
        """Make sure that each version has its tables, and the views show the current one."""
        record, base = read_record(line.public), self.declared.schema_of(line.name)
        live = [n for n, version in record.versions.items() if version.status != "withdrawn"]
        expected = {f"{base}_{n}": record.versions[n].digest for n in live}
        digests = {name: comment.get("digest") for name, comment in self.schemas().items()}
        current = digests.pop(base, None), base in self.schemas()
        assert digests == expected
        assert current == (None, bool(live))
        for number in live:
            self._require_tables(line.public / number, f"{base}_{number}")
        if record.current:
            assert self.schemas()[base]["current"] == record.current
            self._require_tables(line.public / record.current, base)

    def _require_tables(self, directory: Path, schema: str) -> None:
        release = open_release(directory)
        paths = files_of_tables(release, release.declared.names_with_roles("sensitive"))
        for name, path in paths.items():
            table = read_table(path)
            columns = ", ".join(f'"{column}"' for column in table.column_names)
            rows = self.ask(f'SELECT {columns} FROM {schema}."{name}"')
            assert sort_rows(rows) == sort_rows(tuple(row.values()) for row in table.to_pylist()), (
                name
            )


def sort_rows(rows: Any) -> list[str]:
    return sorted(repr([comparable(value) for value in row]) for row in rows)


def bring(line: Line, place: Any, secrets: Callable[..., Any] = no_blocks) -> Delivered:
    """Deliver a line to one place."""
    remember(line, (place.declared,))
    (delivery,) = deliver(line, place.environ, secrets)
    return delivery


@contextmanager
def store_server() -> Iterator[Callable[[], StorePlace]]:
    """Makes buckets of one simulated store."""
    import boto3

    with simulator() as (environ, _):
        client = boto3.client(
            "s3",
            endpoint_url=environ["AWS_ENDPOINT_URL"],
            aws_access_key_id="tests",
            aws_secret_access_key=SECRET,
            region_name="us-east-1",
        )
        yield lambda: StorePlace(environ, client)
        client.close()
