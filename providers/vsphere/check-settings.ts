// Checks of the settings that a table cannot express. Pure.

import { applicable, isLabel, missingSetting, type Problem, settingError, settingWarning } from "#ccm";
import { config, type Settings } from "./settings.ts";
import { type VCenter, vcentersOf } from "./vcenters.ts";

const noVCenter =
  'no vCenter is set. Set server (VSPHERE_VCENTER), or add a vCenter to vsphere.conf: vcenter.NAME.server in YAML, [VirtualCenter "HOST"] in INI';
const twoPlaces =
  "secret-name and secrets-directory are both set, and only one of them can have the credentials. Remove one";
const keepsNodes =
  "SKIP_NODE_DELETION is set, so Nodes whose machine is gone are never deleted, whatever its value is. --node-deletion=off does the same, and its messages say so";
const unverified = "vCenter's certificate is not verified. Set ca-file or thumbprint instead";

type Keys = keyof Settings["virtual-centers"][number] & string;

/** One of two settings that depend on each other is missing. */
function halves(of: Partial<Record<string, unknown>>, [one, other]: readonly [string, string], so: string) {
  const [set, missing] = of[one] === undefined ? [other, one] : [one, other];
  return of[set] !== undefined && of[missing] === undefined
    ? [{ set, text: `${set} is set and ${missing} is not, so ${so}. Set both, or none` }]
    : [];
}

const ofSecret = ["secret-name", "secret-namespace"] as const;
const noSecret = "no Secret is read";

/** Problems in the vCenter sections. */
function sectionProblems({ "virtual-centers": sections }: Settings): readonly Problem[] {
  return sections.flatMap((section, index) => {
    const key = (name: Keys) => `virtual-centers[${index}].${name}`;
    return [
      ...halves(section, ofSecret, noSecret).map(({ set, text }) => settingError(key(set as Keys), text)),
      ...applicable(section["insecure-flag"] && settingWarning(key("insecure-flag"), unverified)),
    ];
  });
}

/** Whether a machine may be found in both, and therefore twice. */
function overlap(one: VCenter, other: VCenter): boolean {
  if (one.base.toLowerCase() !== other.base.toLowerCase()) return false;
  const isEverything = one.datacenters.length === 0 || other.datacenters.length === 0;
  return isEverything || one.datacenters.some((name) => other.datacenters.includes(name));
}

function repeatedVCenters(vcenters: readonly VCenter[]): readonly Problem[] {
  return vcenters.flatMap((one, index) => {
    const first = vcenters.slice(0, index).find((other) => overlap(one, other));
    if (first === undefined) return [];
    const text = `the vCenters ${first.name} and ${one.name} have the same server and datacenters, so each machine is found twice, and its Node stays as it is. Correct the server or the datacenters of one vCenter, or remove it`;
    return [settingError("virtual-centers", text)];
  });
}

function invalidLabels({ "node-labels": labels = new Map() }: Settings): readonly Problem[] {
  return [...labels]
    .filter(([key, value]) => !isLabel(key, value))
    .map(([key, value]) =>
      settingError(
        "node-labels",
        `node-labels has ${key}=${value}, which is no valid label of Kubernetes. Correct it, or remove it`,
      ),
    );
}

function unusableServers(
  vcenters: readonly VCenter[],
  { length }: Settings["virtual-centers"],
): readonly Problem[] {
  return vcenters.flatMap(({ base, server }, index) => {
    const key = index < length ? `virtual-centers[${index}].server` : "server";
    const text = `server must be a host name, an address, or an http or https URL, got ${JSON.stringify(server)}`;
    return URL.canParse(base) ? [] : settingError(key, text);
  });
}

export function checkSettings(settings: Settings): readonly Problem[] {
  const { "virtual-centers": sections, server } = settings;
  const { "secret-name": secret, "secrets-directory": directory, "insecure-flag": isInsecure } = settings;
  const hasOtherDirectory = directory !== config["secrets-directory"].fallback;
  return [
    ...applicable(
      server === undefined && sections.length === 0 && missingSetting("server", noVCenter),
      secret !== undefined && hasOtherDirectory && settingError("secrets-directory", twoPlaces),
      settings["skip-node-deletion"] !== undefined && settingWarning("skip-node-deletion", keepsNodes),
      isInsecure && settingWarning("insecure-flag", unverified),
    ),
    ...halves(settings, ofSecret, noSecret).map(({ set, text }) => settingError(set, text)),
    ...halves(settings, ["label-zone", "label-region"], "Nodes get neither zone nor region").map(
      ({ set, text }) => settingWarning(set, text),
    ),
    ...sectionProblems(settings),
    ...invalidLabels(settings),
    ...unusableServers(vcentersOf(settings), sections),
    ...repeatedVCenters(vcentersOf(settings)),
  ];
}
