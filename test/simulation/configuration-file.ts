// The configuration file of the simulated replicas: live settings that a reload may change, and contents that a reload must
// reject.

const head = "apiVersion: fairlead.dev/v1alpha1\nkind: FairleadConfiguration\nflags:\n";

export type LiveSettings = Readonly<Record<string, string>>;

/** None of these values allows more than the default. */
export const liveSettings: readonly (readonly [name: string, values: readonly string[]])[] = [
  ["removal-limit", ["20%", "10%", "15%"]],
  ["load-balancer-drift", ["repair", "report"]],
  ["concurrent-service-syncs", ["1", "5", "20"]],
  ["cloud-call-timeout", ["30s", "20s"]],
  ["drain-timeout", ["10s", "5s"]],
  ["absence-confirmation", ["30s", "45s"]],
  ["kube-api-qps", ["0", "50"]],
  ["v", ["0", "2"]],
];

/** `extra` is a line that makes the file invalid. */
export const configurationFile = (settings: LiveSettings, extra?: string): string => {
  const lines = Object.entries(settings).map(([name, value]) => `  ${name}: ${value}\n`);
  return `${head}${lines.length === 0 ? "  v: 0\n" : lines.join("")}${extra ?? ""}`;
};

export const invalidLines: readonly string[] = [
  "  no-such-flag: 1\n",
  "  cloud-call-timeout: soon\n",
  "  load-balancer-drift: [\n",
  "\tv: 1\n",
];
