// Counters, gauges and histograms, and their text for Prometheus. It measures nothing itself and knows no names.

export type LabelValues = Readonly<Record<string, string>>;

export interface Counter {
  add(labels?: LabelValues, amount?: number): void;
}

export interface Gauge {
  set(value: number, labels?: LabelValues): void;
}

export interface Histogram {
  observe(value: number, labels?: LabelValues): void;
}

/** What is declared of a metric, for its text and for the page that lists them. */
export interface MetricDeclaration {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
  /** Of a histogram. */
  readonly buckets?: readonly number[];
}

interface Family extends MetricDeclaration {
  lines(): Iterable<string>;
}

/** Of one metric. What comes beyond is counted under one name, so that no caller can fill the memory. */
const mostSeries = 1000;
const beyond = "other";

const escaped = (value: string): string =>
  value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");

const series = (name: string, labels: LabelValues): string => {
  const entries = Object.entries(labels);
  if (entries.length === 0) return name;
  return `${name}{${entries.map(([key, value]) => `${key}="${escaped(value)}"`).join(",")}}`;
};

export class Metrics {
  readonly #families: Family[] = [];

  counter(name: string, help: string, labels: readonly string[] = []): Counter {
    const values = new Map<string, number>();
    this.#add({ name, help, type: "counter", labels, lines: () => linesOf(values) });
    // Without labels there is one series from the start, as Prometheus asks for.
    if (labels.length === 0) values.set(name, 0);
    return {
      add: (of = {}, amount = 1) => {
        const key = bounded(values, name, of);
        values.set(key, (values.get(key) ?? 0) + amount);
      },
    };
  }

  gauge(name: string, help: string, labels: readonly string[] = []): Gauge {
    const values = new Map<string, number>();
    this.#add({ name, help, type: "gauge", labels, lines: () => linesOf(values) });
    return { set: (value, of = {}) => values.set(bounded(values, name, of), value) };
  }

  /** A gauge whose values are asked for when somebody looks. */
  gaugeFrom(
    name: string,
    help: string,
    labels: readonly string[],
    read: () => Iterable<readonly [LabelValues, number]>,
  ): void {
    this.#add({ name, help, type: "gauge", labels, lines: () => readLines(name, read) });
  }

  /** The same for what only grows. */
  counterFrom(
    name: string,
    help: string,
    labels: readonly string[],
    read: () => Iterable<readonly [LabelValues, number]>,
  ): void {
    this.#add({ name, help, type: "counter", labels, lines: () => readLines(name, read) });
  }

  /** In the order of their declaration. */
  get declarations(): readonly MetricDeclaration[] {
    return this.#families;
  }

  histogram(
    name: string,
    help: string,
    buckets: readonly number[],
    labels: readonly string[] = [],
  ): Histogram {
    const all = new Map<
      string,
      { readonly labels: LabelValues; readonly counts: number[]; sum: number; count: number }
    >();
    const lines = () => [...all.values()].flatMap((one) => histogramLines(name, buckets, one));
    this.#add({ name, help, type: "histogram", labels, buckets, lines });
    return {
      observe: (value, given = {}) => {
        const key = bounded(all, name, given);
        const labels = key === series(name, given) ? given : others(given);
        const one = all.get(key) ?? { labels, counts: buckets.map(() => 0), sum: 0, count: 0 };
        all.set(key, one);
        for (const [index, bound] of buckets.entries()) {
          if (value <= bound) one.counts[index] = (one.counts[index] ?? 0) + 1;
        }
        one.sum += value;
        one.count += 1;
      },
    };
  }

  /** The exposition format of Prometheus, version 0.0.4. */
  text(): string {
    return this.#families
      .flatMap((family) => [
        `# HELP ${family.name} ${family.help}`,
        `# TYPE ${family.name} ${family.type}`,
        ...family.lines(),
      ])
      .join("\n")
      .concat("\n");
  }

  #add(family: Family): void {
    if (this.#families.some(({ name }) => name === family.name)) {
      throw new Error(`The metric ${family.name} is declared twice.`);
    }
    this.#families.push(family);
  }
}

const others = (labels: LabelValues): LabelValues =>
  Object.fromEntries(Object.keys(labels).map((name) => [name, beyond]));

const bounded = (present: ReadonlyMap<string, unknown>, name: string, labels: LabelValues): string => {
  const key = series(name, labels);
  return present.has(key) || present.size < mostSeries ? key : series(name, others(labels));
};

const readLines = (name: string, read: () => Iterable<readonly [LabelValues, number]>): readonly string[] =>
  [...read()].map(([labels, value]) => `${series(name, labels)} ${value}`);

const linesOf = (values: ReadonlyMap<string, number>): string[] =>
  [...values].map(([key, value]) => `${key} ${value}`);

const histogramLines = (
  name: string,
  buckets: readonly number[],
  one: {
    readonly labels: LabelValues;
    readonly counts: readonly number[];
    readonly sum: number;
    readonly count: number;
  },
): string[] => [
  ...buckets.map(
    (bound, index) =>
      `${series(`${name}_bucket`, { ...one.labels, le: String(bound) })} ${one.counts[index] ?? 0}`,
  ),
  `${series(`${name}_bucket`, { ...one.labels, le: "+Inf" })} ${one.count}`,
  `${series(`${name}_sum`, one.labels)} ${one.sum}`,
  `${series(`${name}_count`, one.labels)} ${one.count}`,
];
