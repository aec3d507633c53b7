// Pairs of specifications with the Go manager and with Fairlead, each on an own moto. Runs as `npm run test:clients --
// aws/pairs`.

import { dirname, join, resolve } from "node:path";
import { keyOf } from "../../../../../providers/aws/load-balancers/annotations.ts";
import { type OpenedCloud, type PeerCloud, portAliases } from "../../../../clients/pairs/pair-cloud.ts";
import { peerPairs } from "../../../../clients/pairs/suite.ts";
import { vocabulary } from "../../pair-vocabulary.ts";
import { ask, startMoto } from "../moto/moto-server.ts";
import { motoStage, requestCertificate } from "../moto/moto-stage.ts";
import { explanations } from "./explanations.ts";
import { viewsOf } from "./pair-views.ts";

const moto = resolve(import.meta.dir, "../moto");
const server = process.env["MOTO_SERVER"] ?? "";
const python = join(dirname(server), "python");

/** The groups that a Service may name. Each Service has its own, because managers count the load balancers of a group. */
const drawn = {
  groups: ["sg-first", "sg-second"],
  subnets: ["subnet-first", "subnet-second", "subnet-third"],
};
const checked = ["80", "31000"];

async function open(number: number): Promise<OpenedCloud> {
  const isManaged = number % 2 === 1;
  const process = await startMoto(python, join(moto, "patched_moto.py"));
  const { url } = process;
  const {
    definition,
    moto: state,
    objects,
    vpc,
  } = await motoStage(url, isManaged ? ["NLBSecurityGroupMode = Managed"] : []);
  const second = await requestCertificate(url);
  state.name(second, "certificate/second");
  const texts: Readonly<Record<string, string>> = {
    "arn:aws:acm:us-west-2:123456789012:certificate/first": objects.certificate,
    "arn:aws:acm:us-west-2:123456789012:certificate/second": second,
    ...Object.fromEntries(drawn.subnets.map((name, index) => [name, objects.subnets[index] ?? ""])),
  };
  const replaced = (value: string, all: Readonly<Record<string, string>>): string =>
    Object.entries(all).reduce((text, [from, to]) => text.replaceAll(from, to), value);
  return {
    definition,
    labeled: objects.node,
    prepare: async (name, port, specifications) => {
      const own: Record<string, string> = {};
      for (const group of drawn.groups) {
        if (!JSON.stringify(specifications).includes(group)) continue;
        const GroupName = `${group.replace("sg-", "")}-${name}-group`;
        const parameters = { GroupName, GroupDescription: "given", VpcId: vpc };
        own[group] = (await ask(url, "CreateSecurityGroup", parameters)).groupId;
      }
      // A port that several load balancers check has one rule for all of them.
      const ports = portAliases(port).length;
      const check = Object.fromEntries(checked.map((one, index) => [one, String(port + ports + index)]));
      return {
        annotation: (key, value) => {
          if (key === keyOf("healthcheck-port")) return check[value] ?? value;
          // moto rejects lower case, which the Go manager sends.
          if (key === keyOf("healthcheck-protocol") && isManaged) return value.toUpperCase();
          return replaced(value, { ...texts, ...own });
        },
        aliases: Object.entries(check).map(([one, own]) => [own, one]),
      };
    },
    read: async () => {
      const all = await state.read();
      const view = viewsOf(state.readable(all));
      // The name of a managed group ends in a hash.
      const withoutHash = (text: string) => text.replaceAll(/k8s-default-[a-z0-9]+-[0-9a-f]{10}/g, "managed");
      return (name) => ({ view: JSON.parse(withoutHash(JSON.stringify(view(name)))), aliases: [] });
    },
    dispose: () => process[Symbol.asyncDispose](),
  };
}

const cloud: PeerCloud = { name: "aws", vocabulary: vocabulary(drawn), perCloud: 25, open };

peerPairs(cloud, process.env["AWS_CCM"] ?? "", explanations);
