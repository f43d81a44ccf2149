"""A simulator of a store of objects, on this machine's loopback and in this process."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SECRET = "CANARYsecret"


@contextmanager
def simulator() -> Iterator[tuple[dict[str, str], Callable[[str, bytes], None]]]:
    """The environment that leads to the store, and what writes objects into its only bucket."""
    import boto3
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        environ = {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": SECRET,
        }
        client = boto3.client(
            "s3",
            endpoint_url=environ["AWS_ENDPOINT_URL"],
            aws_access_key_id="tests",
            aws_secret_access_key=SECRET,
            region_name="us-east-1",
        )
        client.create_bucket(Bucket="bucket")

        def write(key: str, content: bytes) -> None:
            client.put_object(Bucket="bucket", Key=key, Body=content)

        yield environ, write
        client.close()
    finally:
        server.stop()
