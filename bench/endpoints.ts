import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { startControlPlane } from '@tenure/test-control-plane'
import { measureReplicas } from './endpoints/replicas.ts'
import { endpointFigures } from './endpoints/samples.ts'
import { measureUpstream } from './endpoints/upstream.ts'
import { type Figures, SUMMARY_HEAD, writeFigures } from './figures.ts'

/*
 * Endpoints of replicas on a real API server with etcd on disk: how soon a slice follows its replicas, and whether it is ever wrong.
 *
 * - `tenure`: replicas with `endpoints()` in mode `lease`
 * - `upstream`: two kube-apiservers with `--endpoint-reconciler-type=lease`, and their own slice `default/kubernetes`
 *
 * An independent watch on another API server measures both.
 */
const SUBJECTS = ['tenure', 'upstream'] as const

const { values } = parseArgs({
  options: {
    stops: { type: 'string', default: '30' },
    kills: { type: 'string', default: '10' },
    outages: { type: 'string', default: '1' },
    /** How long each slice is watched while nothing happens. */
    minutes: { type: 'string', default: '1' },
    /** What to measure, for example `tenure`. */
    only: { type: 'string', default: SUBJECTS.join(',') },
    json: { type: 'string' },
  },
})
const isCount = (value: number): boolean => Number.isInteger(value) && value >= 0
const rounds = {
  stops: Number(values.stops),
  kills: Number(values.kills),
  outages: Number(values.outages),
  minutes: Number(values.minutes),
}
for (const name of ['stops', 'kills', 'outages'] as const) {
  if (isCount(rounds[name])) continue
  console.error(`Expected \`--${name}\` to be a whole number, got \`${values[name]}\``)
  process.exit(2)
}
if (!(rounds.minutes > 0)) {
  console.error(`Expected \`--minutes\` to be a number above 0, got \`${values.minutes}\``)
  process.exit(2)
}
const wanted = values.only.split(',')
if (!wanted.every((name) => SUBJECTS.some((subject) => subject === name))) {
  console.error(`Expected \`--only\` to name some of ${SUBJECTS.join(', ')}, got \`${values.only}\``)
  process.exit(2)
}

const [loadBefore = 0] = loadavg()
console.log(`load of the machine: ${loadBefore.toFixed(2)}`)
console.log(SUMMARY_HEAD)
const measured: Figures[] = []
if (wanted.includes('tenure')) {
  await using server = await startControlPlane({ durable: true })
  measured.push(endpointFigures('', await measureReplicas(server, rounds)))
}
if (wanted.includes('upstream')) {
  await using server = await startControlPlane({ durable: true })
  measured.push(endpointFigures('upstream.', await measureUpstream(server, rounds)))
}
const figures: Figures = Object.assign({ load_before: loadBefore, load_after: loadavg()[0] ?? 0 }, ...measured)
await writeFigures(values.json, figures)
