// Sizes in Kubernetes notation, such as `10Gi`. Pure.

const factors: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** The size in bytes, rounded up; undefined if the text is not a quantity. */
export function bytesOf(quantity: string): number | undefined {
  const [, number = "", exponent, suffix = ""] =
    /^([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d+)|([numkMGTPE]|[KMGTPE]i))?$/.exec(quantity) ?? [];
  const factor = exponent === undefined ? factors[suffix] : 10 ** Number(exponent);
  return number === "" || factor === undefined ? undefined : Math.ceil(Number(number) * factor);
}

/** The canonical form with a binary suffix. */
export function quantityOf(bytes: number): string {
  const suffix = ["Ei", "Pi", "Ti", "Gi", "Mi", "Ki"].find((each) => bytes % (factors[each] ?? 1) === 0);
  return bytes === 0 || suffix === undefined ? String(bytes) : `${bytes / (factors[suffix] ?? 1)}${suffix}`;
}
