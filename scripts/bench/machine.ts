// What a figure was measured on: without it no figure can be compared. Read once, at the start.

import { cpus, release, totalmem } from "node:os";

export const describeMachine = (): string => {
  const processors = cpus();
  const model = processors[0]?.model.trim() ?? "unknown processor";
  return `${processors.length} × ${model}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, ${process.platform} ${release()}, Bun ${Bun.version}`;
};
