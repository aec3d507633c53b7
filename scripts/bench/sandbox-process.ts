// A program: the sandbox over HTTPS on loopback, its kubeconfig in the file that is named, until it is told to stop.

import { createAuthority } from "../../src/pki/authority.ts";
import { ApiServer } from "../../src/sandbox/api-server.ts";
import { saveKubeconfig, startHttpsFace } from "../../src/sandbox/https.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { systemFiles } from "../../src/seams/system-files.ts";

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error("Expected the path of the kubeconfig to write.");
const authority = createAuthority("bench-ca", systemClock, systemRandom);
const server = new ApiServer({ clock: systemClock, random: systemRandom });
const face = await startHttpsFace({ server, authority, token: crypto.randomUUID() });
await saveKubeconfig(face, systemFiles, path);
process.stdout.write(`serves ${face.url}\n`);
process.on("SIGTERM", () => process.exit(0));
