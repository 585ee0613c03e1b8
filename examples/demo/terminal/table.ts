import type { ReplicaProcess } from '../fleet/replica-process.ts'
import type { Chronicle } from '../record/chronicle.ts'
import { cleanHandovers, takeovers } from '../record/handovers.ts'
import { formatMs } from './format-ms.ts'
import type { TableLine } from './screen.ts'

const WIDTHS = [12, 9, 12, 9, 7, 16, 12]
const HEADER = ['REPLICA', 'PID', 'STATE', 'EPOCH', 'TERM', 'DRAIN', 'HANDOVER']

/** One line for each replica: what it does, and its present or last term with the drain and the handover to it. */
export function replicaTable(replicas: readonly ReplicaProcess[], chronicle: Chronicle): readonly TableLine[] {
  return [
    { text: '', style: undefined },
    { text: columns(HEADER), style: 'dim' },
    ...replicas.map((replica) => ({ text: columns(cells(replica, chronicle)), style: STYLES[replica.state] })),
  ]
}

const STYLES: Readonly<Record<ReplicaProcess['state'], TableLine['style']>> = {
  starting: 'dim',
  idle: 'dim',
  following: undefined,
  acquiring: 'cyan',
  leading: 'green',
  draining: 'yellow',
  releasing: 'yellow',
  wedged: 'red',
  stopped: 'dim',
  gone: 'red',
}

function cells(replica: ReplicaProcess, chronicle: Chronicle): readonly string[] {
  const { terms } = chronicle
  const own = chronicle.termsOf(replica)
  const term = own.at(-1)
  const drained = own.findLast(({ over }) => over !== undefined)?.over
  const handover = [...cleanHandovers(terms), ...takeovers(terms)].find(({ to }) => to === term)
  return [
    replica.name,
    String(replica.pid),
    replica.state,
    String(term?.epoch ?? '-'),
    term === undefined ? '-' : String(terms.indexOf(term) + 1),
    drained === undefined ? '-' : `${drained.drain} ${formatMs(drained.drainMs)}`,
    handover === undefined ? '-' : formatMs(handover.ms),
  ]
}

function columns(texts: readonly string[]): string {
  return texts
    .map((text, index) => text.padEnd(WIDTHS[index] ?? 0))
    .join('')
    .trimEnd()
}
