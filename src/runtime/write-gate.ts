// The write fence: whether this process may change the cloud and the cluster now. `src/app/manager/manager.ts` makes
// it of `--mode` and of the Lease (`src/kube/leader-election/lease-lock.ts`).

/** Called directly before a write is sent. Returns the reason, a sentence, if the write is refused. */
export type WriteGate = () => true | { readonly reason: string };
