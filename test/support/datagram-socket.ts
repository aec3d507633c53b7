// The receiving end of a notify socket, as systemd has it: bound to a path, and read without blocking.

import { dlopen, ptr } from "bun:ffi";

export const openDatagramSocket = (path: string) => {
  const { symbols } = dlopen("libc.so.6", {
    socket: { args: ["i32", "i32", "i32"], returns: "i32" },
    bind: { args: ["i32", "ptr", "u32"], returns: "i32" },
    recv: { args: ["i32", "ptr", "u64", "i32"], returns: "i64" },
    close: { args: ["i32"], returns: "i32" },
  });
  const name = new TextEncoder().encode(path);
  if (path.startsWith("@")) name[0] = 0;
  const address = new Uint8Array([1, 0, ...name]);
  const socket = symbols.socket(1, 2, 0);
  if (symbols.bind(socket, ptr(address), address.length) !== 0) throw new Error(`${path} could not be bound`);
  return {
    /** All messages received so far. */
    read: (): readonly string[] => {
      const messages: string[] = [];
      for (;;) {
        const bytes = new Uint8Array(4096);
        const length = Number(symbols.recv(socket, ptr(bytes), BigInt(bytes.length), 0x40));
        if (length < 0) return messages;
        messages.push(new TextDecoder().decode(bytes.subarray(0, length)));
      }
    },
    [Symbol.dispose]: () => void symbols.close(socket),
  };
};
