import { fork } from 'node:child_process'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import process, { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { endWithParent } from '../../../../bench/end-with-parent.ts'
import { writeFigures } from '../../../../bench/figures.ts'
import { coverageOf } from './cells.ts'
import type { Cell, Exploration } from './explore.ts'
import { Progress } from '../../../../bench/progress.ts'
import { wholeNumber } from '../../../../bench/whole-number.ts'
import { hashOfImports } from '../../../../scripts/house/import-graph.ts'
import { SCOPES } from './scopes.ts'

/*
 * Explores every history of the elector machine, breadth first, within several scopes. Exits with 1 if a rule is broken, a reachable
 * cell of the transition table was not reached, or fewer worlds were visited than requested.
 *
 * `--long` visits a hundred million worlds. It keeps them in files, prints how far it is, and continues where it was interrupted. `--folder`
 * names the folder of the files, for any number of worlds. It holds the worlds of one state of the sources: delete it to begin again after a change.
 */
const { values } = parseArgs({
  args: argv.slice(2),
  options: {
    states: { type: 'string' },
    long: { type: 'boolean', default: false },
    folder: { type: 'string' },
    json: { type: 'string' },
  },
})

/** An exploration in the form in which a process sends it. */
export type SentExploration = Omit<Exploration, 'cells'> & { readonly cells: readonly Cell[] }

const wanted = wholeNumber('--states', values.states ?? (values.long ? '100000000' : '1000000'), 1)
const folder = values.folder ?? (values.long ? join(tmpdir(), 'tenure-explore') : undefined)
const sources = hashOfImports(join(import.meta.dirname, '../../../..'), 'packages/core/test/explore/explore-scope.ts')
const progress = new Progress('worlds', wanted)
const began = performance.now()
const waiting = SCOPES.map((_, index) => index)
const explorations: SentExploration[] = []
/** The worlds that exhausted scopes leave to later scopes. */
let unused = 0
await Promise.all(Array.from({ length: Math.min(availableParallelism(), SCOPES.length) }, () => takeScopes()))

const states = sum((exploration) => exploration.states)
const findings = explorations.flatMap((exploration) => exploration.findings)
const { covered, missing, unexpected, reachable, unreachable } = coverageOf(explorations.flatMap(({ cells }) => cells))
for (const { rule, message, history } of findings) {
  console.error(`\n${rule} is broken: ${message}\nThe shortest history that breaks it:\n${history.join('\n')}`)
}
const depth = Math.max(...explorations.map((exploration) => exploration.depth))
console.log(
  `\n${states} worlds to depth ${depth} in ${((performance.now() - began) / 1000).toFixed(1)} s; ` +
    `${covered} of ${reachable} reachable cells of the transition table; ${findings.length} violations`,
)
console.log('Unreachable cells:')
for (const [reason, cells] of unreachable) console.log(`  ${reason}: ${cells.join(', ')}`)
for (const cell of missing) console.error(`Not reached: ${cell}`)
for (const cell of unexpected) console.error(`Listed as unreachable, but reached: ${cell}`)
await writeFigures(values.json, { states, depth, violations: findings.length })
const isExhausted = explorations.every((exploration) => exploration.isExhausted)
if (findings.length > 0 || missing.length > 0 || unexpected.length > 0 || (states < wanted && !isExhausted))
  process.exitCode = 1

function sum(value: (exploration: SentExploration) => number): number {
  return explorations.reduce((total, exploration) => total + value(exploration), 0)
}

async function takeScopes(): Promise<void> {
  for (let index = waiting.shift(); index !== undefined; index = waiting.shift()) {
    const share = Math.ceil(wanted * (SCOPES[index]?.share ?? 0)) + unused
    unused = 0
    const exploration = await exploreInProcess(index, share)
    unused += share - exploration.states
    explorations.push(exploration)
    const { name } = SCOPES[index] ?? { name: '' }
    const extent = exploration.isExhausted ? 'all of them' : `complete to depth ${exploration.depth}`
    console.log(`${name}: ${exploration.states} worlds, ${extent}`)
  }
}

function exploreInProcess(index: number, states: number): Promise<SentExploration> {
  const args = [String(index), String(states), ...(folder === undefined ? [] : [join(folder, String(index)), sources])]
  const child = fork(fileURLToPath(new URL('explore-scope.ts', import.meta.url)), args, {
    execArgv: ['--conditions=@tenure/source', '--max-old-space-size=12000'],
  })
  endWithParent(child)
  const { promise, resolve, reject } = Promise.withResolvers<SentExploration>()
  child.on('message', (sent) => {
    if (typeof sent === 'number') progress.report(index, sent)
    else resolve(sent as SentExploration)
  })
  child.once('error', reject)
  child.once('exit', (code) => reject(new Error(`A process that explored ended with code ${code}`)))
  return promise
}
