// The clients of AWS: boto3 and the Go manager on the simulated account, and Fairlead's manager on moto, an
// independent simulation of AWS.

import { join, resolve } from "node:path";
import { serveCloud } from "#ccm/testing";
import { clusterCloud, config } from "../../../../../providers/aws/simulator/harness.ts";
import { systemClock as clock } from "../../../../../src/platform/clock.ts";
import { csiSanity } from "../../../../clients/csi/prepare.ts";
import { needControlPlane, pythonClient, pythonPackages, testFile } from "../../../../clients/rig/prepare.ts";
import type { ClientSuite, PreparedClient } from "../../../../clients/rig/suite.ts";
import { goProgram } from "../../../../tools/rig/install.ts";

const root = resolve(import.meta.dir, "..");

const motoServer = (): string =>
  `MOTO_SERVER=${join(pythonPackages("moto", join(root, "moto")), "bin/moto_server")}`;

function motoClient(): PreparedClient {
  const { name, command } = testFile("moto", join(root, "moto/moto.client.ts"), 600);
  return { name, command: ["env", motoServer(), ...command] };
}

const goManager = (): string =>
  `AWS_CCM=${goProgram(join(root, "peer"), [], "k8s.io/cloud-provider-aws/cmd/aws-cloud-controller-manager")}`;

const rehearsal = () => testFile("rehearsal", join(root, "rehearsal/rehearsal.client.ts"), 900);

/** The rehearsal with the Go manager, which is built from its module. */
function rehearsalWithGo(): PreparedClient {
  const { command } = rehearsal();
  const only = "--test-name-pattern=from the Go manager";
  return { name: "rehearsal with the Go manager", command: ["env", goManager(), ...command, only] };
}

/** The Go manager and Fairlead, each on an empty moto. */
function motoWithGo(): PreparedClient {
  const { name, command } = testFile("moto-go", join(root, "moto/go.client.ts"), 1800);
  return { name, command: ["env", motoServer(), goManager(), ...command] };
}

/** The same pairs of specifications with the Go manager and with Fairlead, each on its own moto. */
function pairs(): PreparedClient {
  const { name, command } = testFile("pairs", join(root, "pairs/pairs.client.ts"), 1800);
  return { name, command: ["env", motoServer(), goManager(), ...command] };
}

/** Fairlead for one class beside the Go manager, on one moto. Throws Unavailable without a control plane. */
function classes(): PreparedClient {
  needControlPlane();
  const { name, command } = testFile("classes", join(root, "moto/classes.client.ts"), 3600);
  return { name, command: ["env", motoServer(), goManager(), ...command] };
}

export const awsClients: ClientSuite = {
  clients: {
    python: () => pythonClient("boto3", join(root, "python")),
    moto: motoClient,
    "moto-go": motoWithGo,
    pairs,
    classes,
    /** The rehearsal of a change between managers. It has its own cloud. */
    rehearsal,
    upstream: rehearsalWithGo,
    csi: () => csiSanity("aws"),
    "csi-on-moto": () => csiSanity("moto", motoServer()),
  },
  nightly: ["moto-go", "upstream", "pairs", "classes"],
  start: async () => {
    const cloud = clusterCloud({ clock });
    const served = serveCloud(cloud, 0);
    const [subnet] = cloud.account.subnets.list();
    return {
      env: () => ({
        AWS_ENDPOINT_URL: served.url,
        AWS_REGION: config.region,
        AWS_DEFAULT_REGION: config.region,
        AWS_ACCESS_KEY_ID: config["access-key-id"],
        AWS_SECRET_ACCESS_KEY: config["secret-access-key"],
        FAIRLEAD_VPC: cloud.account.vpc,
        FAIRLEAD_SUBNET: String(subnet?.id),
      }),
      [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
    };
  },
};
