// The BIOS UUID of a machine. Its first three groups have two byte orders: vSphere's order, and the order in which kernels since
// SMBIOS 2.6 report them to kubelets. Pure.

const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export const isUUID = (text: string): boolean => pattern.test(text);

const swapBytes = (group: string): string => (group.match(/../g) ?? []).reverse().join("");

/** The same UUID in the other order. */
export function swapped(uuid: string): string {
  const [first = "", second = "", third = "", ...rest] = uuid.split("-");
  return [swapBytes(first), swapBytes(second), swapBytes(third), ...rest].join("-");
}

/** The same for both orders: a provider id may have either. */
export function canonical(uuid: string): string {
  const other = swapped(uuid);
  return uuid < other ? uuid : other;
}

/** ESXi begins its UUIDs with 564d, and vCenter begins its own with 42 or 50. */
const made = /^(564d|42|50)/;

/** Both orders. The first is more likely to be vSphere's order. */
export function orders(uuid: string): readonly [string, string] {
  const other = swapped(uuid);
  return made.test(uuid) ? [uuid, other] : [other, uuid];
}
