import type { ModelStep, ModelTrace } from './model-steps.ts'
import type { NumberedRecord } from './record-table.ts'

/** The module that `Trace.tla` reads: the records and steps of all traces. */
export function traceModule(traces: readonly ModelTrace[]): string {
  const names = traces.map((_, index) => `T${index + 1}`)
  return [
    '---- MODULE TraceData ----',
    'EXTENDS Naturals',
    ...traces.map((trace, index) => `${names[index]} == ${traceText(trace)}`),
    `Traces == <<${names.join(', ')}>>`,
    '====',
    '',
  ].join('\n')
}

function traceText({ steps, records: { records }, waits }: ModelTrace): string {
  const texts = records.map(recordText)
  return `[waits |-> ${tla(waits)}, records |-> <<\n${texts.join(',\n')}>>, steps |-> <<\n${steps.map(tla).join(',\n')}>>]`
}

function recordText({ holder, dur, acq, ren, trans, offer, answer, echo }: NumberedRecord): string {
  const fields = { holder, dur, acq, ren, trans, offer, answer, echo }
  return `[${Object.entries(fields)
    .map(([name, value]) => `${name} |-> ${tla(value)}`)
    .join(', ')}]`
}

/** A value as TLA+ writes it. */
function tla(value: ModelStep | ModelStep[number]): string {
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE'
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'number') return value < 0 ? `(0 - ${-value})` : `${value}`
  return `<<${value.map((one) => tla(one)).join(', ')}>>`
}
