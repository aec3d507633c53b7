// `npm run cloud <name>`: serves a simulated cloud over HTTP, for development.

import { faultsPath, tokensPath } from "#ccm/testing";
import { milliseconds } from "../src/core/brand.ts";
import { systemClock } from "../src/platform/clock.ts";
import { type LocalCloud, type LocalCloudDefinition, variablesOf } from "./clouds/local-cloud.ts";
import { cloudChoices, localClouds } from "./clouds/registry.ts";
import { commandLine, fail, oneNamed, orFail, wholeNumber } from "./command-line.ts";

/** The default of each cloud: "fake 8620, hetzner 8621". */
function defaults(pick: (definition: LocalCloudDefinition) => number | undefined): string {
  return localClouds.map((definition) => `${definition.name} ${pick(definition) ?? "none"}`).join(", ");
}

const usage = `Usage: npm run cloud <name> -- [options]

Serves a simulated cloud on 127.0.0.1, and prints the settings of a manager that uses it. <name> is ${cloudChoices}.

  --port <n>               port to listen on (${defaults(({ defaultPort }) => defaultPort)})
  --machines <n>           machines to start with (0)
  --prefix <text>          prefix of their names (node-)
  --latency <ms>           time to answer a request (0)
  --action-time <ms>       time until a change has ended (${defaults(({ defaultActionTime }) => defaultActionTime)})
  --requests-per-hour <n>  request quota (${defaults(({ defaultRequestsPerHour }) => defaultRequestsPerHour)})
  --token <text>           the only valid token, instead of the one that is printed;
                           of rancher, an API key such as access:secret
`;

const { positionals, values } = commandLine(
  usage,
  {
    port: { type: "string" },
    machines: { type: "string", default: "0" },
    prefix: { type: "string", default: "node-" },
    latency: { type: "string", default: "0" },
    "action-time": { type: "string" },
    "requests-per-hour": { type: "string" },
    token: { type: "string" },
  },
  1,
);

const [wanted] = positionals;
if (wanted === undefined) fail("Expected the name of the cloud to serve.", usage);
const definition: LocalCloudDefinition = orFail(() => oneNamed("cloud", wanted, localClouds));
const numberOr = (name: "port" | "action-time" | "requests-per-hour", fallback: number): number =>
  wholeNumber(name, values[name] ?? String(fallback));
if (definition.defaultRequestsPerHour === undefined && values["requests-per-hour"] !== undefined)
  fail(`--requests-per-hour has no effect: the ${definition.name} cloud has no quota.`, usage);
const options = {
  clock: systemClock,
  port: numberOr("port", definition.defaultPort),
  latency: milliseconds(wholeNumber("latency", values.latency)),
  actionTime: milliseconds(numberOr("action-time", definition.defaultActionTime)),
  requestsPerHour: numberOr("requests-per-hour", definition.defaultRequestsPerHour ?? 0),
  token: values.token ?? definition.exampleToken,
};
const count = wholeNumber("machines", values.machines);

function open(): LocalCloud {
  const { name } = definition;
  const { port } = options;
  try {
    return definition.open(options);
  } catch (error) {
    const isTaken = (error as { readonly code?: unknown } | null)?.code === "EADDRINUSE";
    const problem = isTaken
      ? `Port ${port} is in use, perhaps by another ${name} cloud. Stop that process, or choose another --port; 0 selects any free port.`
      : `The ${name} cloud cannot listen on port ${port}: ${error instanceof Error ? error.message : String(error)}`;
    process.stderr.write(`${problem}\n`);
    process.exit(1);
  }
}

const cloud = open();
for (let index = 0; index < count; index++) cloud.addMachine(`${values.prefix}${index}`);

const variables = Object.entries(variablesOf(definition, cloud)).map(
  ([name, value]) => `  export ${name}=${value}\n`,
);
const tokenURL = new URL(tokensPath + encodeURIComponent(options.token), cloud.url);
const tokenHelp =
  definition.hasTokens === undefined
    ? ""
    : `
To revoke the token, and to make it valid again:

  curl ${tokenURL} -X DELETE
  curl ${tokenURL} -X PUT
`;
process.stdout.write(
  `The ${definition.name} cloud listens on ${cloud.url} with ${count} machines. Press Ctrl-C to stop it.
${definition.hint(cloud.url)}

To use it, start a manager with these variables:

${variables.join("")}
To let requests fail, plan faults. An answer names all kinds:

  curl ${new URL(faultsPath, cloud.url)} -d '{"kind": "status", "status": 503, "calls": 10}'
  curl ${new URL(faultsPath, cloud.url)} -X DELETE
${tokenHelp}`,
);
