// The write fence: whether this process may change the cloud and the cluster now. It depends on leadership and on `--mode`.

/** Called directly before a write is sent. Returns the reason, a sentence, if the write is refused. */
export type WriteGate = () => true | { readonly reason: string };
