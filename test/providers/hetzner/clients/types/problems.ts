// Compares a type of the provider with that of the OpenAPI document, as types: the compiler lists the differences.

type Present<T> = Exclude<T, null | undefined>;

/** The document allows a value to be missing, and the provider does not expect this. */
type Absences<Ours, Doc, Path extends string> =
  | (null extends Doc ? (null extends Ours ? never : `${Path} may be null`) : never)
  | (undefined extends Doc ? (undefined extends Ours ? never : `${Path} may be missing`) : never);

type Members<Ours, Doc, Path extends string> = {
  [K in keyof Ours & string]-?: K extends keyof Doc
    ? Problems<Ours[K], Doc[K], `${Path}.${K}`>
    : `${Path}.${K} is not in the document`;
}[keyof Ours & string];

type Values<Ours, Doc, Path extends string> = [Ours] extends [readonly (infer One)[]]
  ? Doc extends readonly (infer Other)[]
    ? Problems<One, Other, `${Path}[]`>
    : `${Path} is not a list`
  : [Ours] extends [object]
    ? // Labels have any keys.
      string extends keyof Ours
      ? never
      : [Doc] extends [readonly unknown[]]
        ? `${Path} is a list`
        : [Doc] extends [object]
          ? Members<Ours, Doc, Path>
          : `${Path} is not an object`
    : [Doc] extends [Ours]
      ? never
      : `${Path} has a different type`;

/** Each difference as text; `never` if there is none. */
export type Problems<Ours, Doc, Path extends string> =
  | Absences<Ours, Doc, Path>
  | Values<Present<Ours>, Present<Doc>, Path>;
