import { fork } from 'node:child_process'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import process, { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { endWithParent } from '../../../../bench/end-with-parent.ts'
import { writeFigures } from '../../../../bench/figures.ts'
import { coverageOf } from './cells.ts'
import type { SentExploration } from './explore.ts'
import { Progress } from '../../../../bench/progress.ts'
import { ResultsFile } from '../../../../bench/results-file.ts'
import { wholeNumber } from '../../../../bench/whole-number.ts'
import { hashOfImports } from '../../../../scripts/house/import-graph.ts'
import { SCOPES } from './scopes.ts'

/*
 * Explores every history of the elector machine, breadth first, within several scopes. Exits with 1 if a rule is broken, a reachable
 * cell of the transition table was not reached, or fewer worlds were visited than requested.
 *
 * `--deep N` gives half of the worlds to one scope: N counts through the scopes, and goes on from the first after the last.
 * `--long` visits a hundred million worlds. It keeps them in files, prints how far it is, and continues where it was interrupted. `--folder`
 * names the folder of the files, for any number of worlds. It holds the worlds of one state of the sources: delete it to begin again after a change.
 * The results of the scopes that have ended are in `long.json`, or in the file that `--file` names for any number of worlds. Commit
 * it, so that another machine continues with the other scopes. Delete it to begin again after a change.
 */
const { values } = parseArgs({
  args: argv.slice(2),
  options: {
    states: { type: 'string' },
    deep: { type: 'string' },
    long: { type: 'boolean', default: false },
    folder: { type: 'string' },
    file: { type: 'string' },
    json: { type: 'string' },
  },
})

/** A scope that was explored, by its place in the list. */
interface Ended {
  readonly scope: number
  readonly exploration: SentExploration
}

const wanted = wholeNumber('--states', values.states ?? (values.long ? '100000000' : '1000000'), 1)
const deep = values.deep === undefined ? undefined : wholeNumber('--deep', values.deep, 0) % SCOPES.length
const folder = values.folder ?? (values.long ? join(tmpdir(), 'tenure-explore') : undefined)
const sources = hashOfImports(join(import.meta.dirname, '../../../..'), 'packages/core/test/explore/explore-scope.ts')
const progress = new Progress('worlds', wanted)
const extent = deep === undefined ? `${wanted} worlds` : `${wanted} worlds, deep ${deep}`
const file = values.file ?? (values.long ? join(import.meta.dirname, 'long.json') : undefined)
const results = new ResultsFile<readonly Ended[]>(file, `${sources}, ${extent}`, [])
const ended = [...results.earlier]
for (const one of ended) {
  progress.report(one.scope, one.exploration.states)
  describe(one)
}
/** The scope that takes longest comes first. */
const waiting = [...SCOPES.keys()]
  .filter((index) => !ended.some(({ scope }) => scope === index))
  .sort((a, b) => Number(b === deep) - Number(a === deep))
/** The worlds that exhausted scopes leave to later scopes. */
let unused = ended.reduce((total, { scope, exploration }) => total + shareOf(scope) - exploration.states, 0)
await Promise.all(Array.from({ length: Math.min(availableParallelism(), SCOPES.length) }, () => takeScopes()))

const explorations = ended.map(({ exploration }) => exploration)
const states = sum((exploration) => exploration.states)
const findings = explorations.flatMap((exploration) => exploration.findings)
const { covered, missing, unexpected, reachable, unreachable } = coverageOf(explorations.flatMap(({ cells }) => cells))
const depth = Math.max(...explorations.map((exploration) => exploration.depth))
console.log(
  `\n${states} worlds to depth ${depth} in ${(results.elapsedMs / 1000).toFixed(1)} s; ` +
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
  for (let scope = waiting.shift(); scope !== undefined; scope = waiting.shift()) {
    const share = shareOf(scope) + unused
    unused = 0
    const exploration = await exploreInProcess(scope, share)
    unused += share - exploration.states
    ended.push({ scope, exploration })
    results.save(ended)
    describe({ scope, exploration })
  }
}

/** Prints how a scope ended, and the rule that it broke. */
function describe({ scope, exploration: { states, depth, isExhausted, findings } }: Ended): void {
  const extent = isExhausted ? 'all of them' : `complete to depth ${depth}`
  const broken = findings.map(({ rule }) => `, ${rule} is BROKEN`).join('')
  console.log(`${SCOPES[scope]?.name}: ${states} worlds, ${extent}${broken}`)
  for (const { rule, message, history } of findings) {
    console.error(`${rule} is broken: ${message}\nThe shortest history that breaks it:\n${history.join('\n')}\n`)
  }
}

/** How many worlds of a scope are visited. */
function shareOf(scope: number): number {
  const share = SCOPES[scope]?.share ?? 0
  if (deep === undefined) return Math.ceil(wanted * share)
  return Math.ceil((wanted / 2) * (scope === deep ? 1 + share : share))
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
