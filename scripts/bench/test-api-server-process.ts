// A process that serves the test API server on loopback and writes its kubeconfig to the path in its argument.

import { createAuthority } from "../../src/pki/authority.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemFiles } from "../../src/platform/files.ts";
import { systemRandom } from "../../src/platform/random.ts";
import { ApiServer } from "../../src/testing/apiserver/api-server.ts";
import { HttpsServer, saveKubeconfig } from "../../src/testing/apiserver/serving/https-server.ts";

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error("Expected the path of the kubeconfig to write.");
const authority = createAuthority("bench-ca", systemClock, systemRandom);
const server = new ApiServer({ clock: systemClock, random: systemRandom });
const https = await HttpsServer.start({ server, authority, token: crypto.randomUUID() });
await saveKubeconfig(https, systemFiles, path);
process.stdout.write(`listens on ${https.url}\n`);
process.on("SIGTERM", () => process.exit(0));
