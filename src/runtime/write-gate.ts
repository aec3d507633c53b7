// The write fence: whether this process may change the cloud and the cluster now. `src/app/manager/manager.ts`
// creates it from `--mode` and the Lease (`src/kube/leader-election/lease-lock.ts`).

/** Called immediately before a write is sent. If the write is blocked, returns the reason as a sentence. */
export type WriteGate = () => true | { readonly reason: string };
