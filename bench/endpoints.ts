import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { startControlPlane } from '@tenure/test-control-plane'
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
const count = (name: 'stops' | 'kills' | 'outages' | 'minutes', isValid: (value: number) => boolean): number => {
  const value = Number(values[name])
  if (isValid(value)) return value
  console.error(
    `Expected \`--${name}\` to be ${name === 'minutes' ? 'above 0' : 'a whole number'}, got \`${values[name]}\``,
  )
  process.exit(2)
}
const isCount = (value: number): boolean => Number.isInteger(value) && value >= 0
const rounds = {
  stops: count('stops', isCount),
  kills: count('kills', isCount),
  outages: count('outages', isCount),
  minutes: count('minutes', (value) => value > 0),
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
if (wanted.includes('upstream')) {
  await using server = await startControlPlane({ durable: true })
  measured.push(endpointFigures('upstream.', await measureUpstream(server, rounds)))
}
const figures: Figures = Object.assign({ load_before: loadBefore, load_after: loadavg()[0] ?? 0 }, ...measured)
await writeFigures(values.json, figures)
