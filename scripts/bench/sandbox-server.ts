// The sandbox as the API server of a measurement, over HTTPS on loopback. It runs in this process and shares its processor time.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAuthority } from "../../src/pki/authority.ts";
import { ApiServer } from "../../src/sandbox/api-server.ts";
import { startHttpsFace } from "../../src/sandbox/https.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { systemRandom } from "../../src/seams/random.ts";
import type { BenchServer } from "./api-server.ts";

export const createHttpsSandbox = async (): Promise<BenchServer> => {
  const authority = createAuthority("bench-ca", systemClock, systemRandom);
  const server = new ApiServer({ clock: systemClock, random: systemRandom });
  const face = await startHttpsFace({ server, authority, token: crypto.randomUUID() });
  const folder = mkdtempSync(join(tmpdir(), "fairlead-bench-"));
  const kubeconfigPath = join(folder, "kubeconfig");
  writeFileSync(kubeconfigPath, face.kubeconfig, { mode: 0o600 });
  return {
    name: "sandbox (KUBEBUILDER_ASSETS is not set)",
    kubeconfigPath,
    stop: async () => {
      await face.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
