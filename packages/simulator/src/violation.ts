/** The rules that the simulator checks. */
export const ORACLE_IDS = [
  'O1',
  'O2',
  'O3',
  'O4',
  'O5',
  'O6',
  'O7',
  'O8',
  'O9',
  'O10',
  'O11',
  'O12',
  'O13',
  'O14',
  'O15',
] as const

/** One of the rules. */
export type OracleId = (typeof ORACLE_IDS)[number]

/** A broken rule. */
export interface Violation {
  /** The rule. */
  readonly oracle: OracleId
  /** True time in milliseconds since the run began. */
  readonly at: number
  /** What happened, to which replica. */
  readonly message: string
}
