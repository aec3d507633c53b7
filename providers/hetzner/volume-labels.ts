// Labels of volumes in settings and parameters, as the CSI driver of Hetzner reads them.

import { entries } from "#ccm";

const labelPart = /^[a-z0-9A-Z]([a-z0-9A-Z._-]{0,61}[a-z0-9A-Z])?$/;

/** Parses a label as the Go driver does: the value may be absent. */
function parseLabel(entry: string): readonly [string, string] | undefined {
  const [key = "", ...values] = entry.split("=");
  const label = [key.trim(), labelValue(values.join("=").trim())] as const;
  const [prefix, name = prefix] = label[0].split(/\/(.*)/s, 2);
  const isValid = labelPart.test(name ?? "") && (label[1] === "" || labelPart.test(label[1]));
  return isValid ? label : undefined;
}

/** The end of a long value, which the Go driver uses. */
export function labelValue(value: string): string {
  return value.length <= 63 ? value : value.slice(-63).replace(/^[^a-z0-9A-Z]+/, "");
}

export const volumeLabels = (what: string, env?: string) =>
  entries(what, "a comma-separated list of labels such as key=value,other=value", parseLabel, {
    ...(env !== undefined && { env }),
  });
