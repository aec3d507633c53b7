// Lets a client see that its watch is open before the first event: Bun.serve holds a response's headers back until the first
// byte of the body, so an empty line is sent first. Readers of JSON lines skip it.

const blankLine = Uint8Array.of(0x0a);

export function openedStream(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = stream.getReader();
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (controller) => controller.enqueue(blankLine),
    pull: async (controller) => {
      const part = await reader.read();
      if (part.done) controller.close();
      else controller.enqueue(part.value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
