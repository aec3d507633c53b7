// Makes a watch known to be open before anything happens: Bun.serve holds the head of a response back until its first byte, so a line
// without an event goes first. Readers of JSON skip it; a real server has no need of it.

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
