"""Adds jobs to a BullMQ queue and processes them, so that their cost can be set beside that of a push.

    jobs.py URL COUNT CONCURRENCY BODY-FILE      prints the seconds that it took
"""
import asyncio
import sys
import time

from bullmq import Queue, Worker


async def main(url: str, count: int, concurrency: int, body: str) -> None:
    queue = Queue("bench", {"connection": url})
    ended = asyncio.Event()
    processed = 0

    async def process(job, token):
        nonlocal processed
        processed += 1
        if processed == count:
            ended.set()

    # A job that is done leaves nothing, as an entry of a stream that was acknowledged and deleted.
    worker = Worker("bench", process, {"connection": url, "concurrency": concurrency, "removeOnComplete": {"count": 0}})
    began = time.monotonic()

    async def add(share: int) -> None:
        for _ in range(share):
            await queue.add("push", {"body": body}, {"removeOnComplete": True})

    await asyncio.gather(*(add(count // concurrency + (i < count % concurrency)) for i in range(concurrency)))
    await ended.wait()
    print(f"{time.monotonic() - began:.3f}")
    await worker.close()
    await queue.close()


asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), open(sys.argv[4]).read()))
