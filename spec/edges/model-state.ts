/** The two replicas of every model whose graph is walked. */
export const NAMES = ['r1', 'r2'] as const
export type Name = (typeof NAMES)[number]

/** A replica and its number of restarts; empty: nobody. */
export type Id = readonly [] | readonly [Name, number]

/** A record of the model, without what only other models have. */
export interface ModelRecord {
  readonly here: boolean
  readonly holder: Id
  readonly term: number
  readonly stamp: number
  readonly src: readonly [] | readonly [Name, number, number]
  readonly trans: number
  readonly dur: number
  readonly offer: boolean
  readonly answer: readonly [] | readonly [Id, number, number]
  readonly echo: number
  readonly num: number
  readonly epoch: number
  readonly least: number
  readonly ref: number
}

/** A write whose outcome its sender does not know. */
export interface ModelWrite {
  readonly base: number
  readonly rec: ModelRecord
  readonly left: number
  readonly inc: number
  readonly done: boolean
}

/** What a replica knows and does. */
export interface ModelProcess {
  readonly mode: 'follow' | 'reserve' | 'lead' | 'drain' | 'empty' | 'ending'
  readonly view: number
  readonly wait: number
  readonly valid: number
  readonly tasks: boolean
  readonly hold: number
  readonly nonce: number
  readonly nonceLeft: number
  readonly nonceUsed: boolean
  readonly known: number
  readonly inc: number
}

/** A state of the model, or the state of the code in the same terms. */
export interface ModelState {
  readonly hist: readonly ModelRecord[]
  readonly proc: Readonly<Record<Name, ModelProcess>>
  readonly msg: Readonly<Record<Name, readonly (ModelWrite | { readonly base: 0 })[]>>
  readonly time: number
  readonly slow: readonly Name[]
  readonly last: { readonly epoch: number }
}

/** Equal for two states exactly if all that is compared is equal. */
export function keyOf({ hist, proc, msg, time, slow, last }: ModelState): string {
  return JSON.stringify([
    hist.map(recordKey),
    NAMES.map((name) => processKey(withoutOwnWait(name, proc[name], hist))),
    NAMES.map((name) => msg[name].map(writeKey)),
    time,
    slow,
    last.epoch,
  ])
}

/** Nobody waits for itself: the rules do not read the time that is left of an own record. */
function withoutOwnWait(name: Name, process: ModelProcess, hist: readonly ModelRecord[]): ModelProcess {
  const [holder, inc] = hist[process.view - 1]?.holder ?? []
  return holder === name && inc === process.inc ? { ...process, wait: 0 } : process
}

function recordKey(rec: ModelRecord): readonly unknown[] {
  const { here, holder, term, stamp, src, trans, dur, offer, answer, echo, num, epoch, least, ref } = rec
  return [here, holder, term, stamp, src, trans, dur, offer, answer, echo, num, epoch, least, ref]
}

function processKey(process: ModelProcess): readonly unknown[] {
  const { mode, view, wait, valid, tasks, hold, nonce, nonceLeft, nonceUsed, known, inc } = process
  return [mode, view, wait, valid, tasks, hold, nonce, nonceLeft, nonceUsed, known, inc]
}

function writeKey(write: ModelWrite | { readonly base: 0 }): readonly unknown[] {
  if (!('rec' in write)) return []
  const { base, rec, left, inc, done } = write
  // The version of a record is known only once it is stored.
  return [base, recordKey({ ...rec, num: 0 }), left, inc, done]
}
