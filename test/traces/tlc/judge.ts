import { runTlc } from '../../../spec/tlc.ts'
import type { ModelTrace } from './model-steps.ts'
import { traceModule } from './trace-module.ts'

/** What the model checker says of a trace. */
export interface TlcVerdict {
  /** Undefined if the trace is a behaviour of the model; otherwise the broken invariant, or `refused`. */
  readonly broken: string | undefined
  /** The step that the model refuses, or before which the invariant is broken; from 1. */
  readonly step: number
}

/** Has the model checker judge traces of leases of 15 s, all in one run. The verdicts are in the order of the traces. */
export async function judgeTraces(jar: string, traces: readonly ModelTrace[]): Promise<readonly TlcVerdict[]> {
  const electors = Math.max(...traces.map((trace) => trace.electors))
  const { printed } = await runTlc(jar, {
    module: 'Trace',
    config: configFor(electors, Math.max(...traces.map(mostOpenWrites))),
    workers: 1,
    memoryMb: 2000,
    modules: { 'TraceData.tla': traceModule(traces) },
  })
  const verdicts = new Map(printed.map(readVerdict))
  return traces.map((_, index) => {
    const verdict = verdicts.get(index + 1)
    if (verdict === undefined) throw new Error(`Expected a verdict on trace ${index + 1} of ${traces.length}`)
    return verdict
  })
}

function readVerdict(text: string): readonly [number, TlcVerdict] {
  const found = /^<<"verdict", (\d+), (\d+), "([\w]+)">>$/.exec(text)
  if (found === null) throw new Error(`Expected a verdict, got ${text}`)
  const [, trace, step, what] = found
  return [Number(trace), { broken: what === 'accepted' ? undefined : what, step: Number(step) }]
}

/** How many writes an elector has sent at most since it last saw a newer version of the lease. Each takes a slot of the model. */
export function mostOpenWrites({ steps }: ModelTrace): number {
  const open = new Map<unknown, { version: unknown; writes: number }>()
  let most = 1
  for (const [kind, process, what] of steps) {
    const elector = open.get(process) ?? { version: 0, writes: 0 }
    open.set(process, elector)
    if (kind === 'send') elector.writes += 1
    else if (kind === 'see' && Number(what) > Number(elector.version)) open.set(process, { version: what, writes: 0 })
    most = Math.max(most, elector.writes)
  }
  return most
}

/** Ticks of 0.1 ms. */
function configFor(electors: number, slots: number): string {
  const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1).join(', ')
  return [
    'SPECIFICATION SpecTrace',
    'CONSTANTS',
    `  Replicas = {${numbers(electors)}}`,
    '  Peers = {}',
    '  LeaseTicks = 150000',
    '  MarginTicks = 7500',
    '  TransferTicks = 50000',
    `  Slots = {${numbers(slots)}}`,
    '  MaxVersion = 1000000',
    '  MaxRestarts = 1',
    '  MaxDeletions = 0',
    '  MaxAnswers = 1000000',
    '  MaxRestores = 0',
    '  Features = {"transfer", "death", "standbys", "edits"}',
    '  Wrong = {}',
    '  HoldAfter <- HoldOfTrace',
    '  TransferValidity <- TransferValidityOfTrace',
    '  GrantedFor <- GrantedOfTrace',
    'VIEW StateTrace',
    '',
  ].join('\n')
}
