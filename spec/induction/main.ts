import { parseArgs } from 'node:util'
import { writeFigures } from '../../bench/figures.ts'
import { actionsFrom, WRONG, type Wrong } from './actions.ts'
import { beginning, enabling, type Obligation, obligations } from './obligations.ts'
import { startSolver } from './solver.ts'
import { STATE } from './state.ts'

/*
 * Proves that the invariant of `lemmas.ts` is inductive and implies S1, for any number of replicas. Each broken rule must break it. There must
 * be a first state, and every step must be possible in a state of the invariant. `--counterexamples` prints the state from which a broken rule
 * breaks it.
 */
const { values } = parseArgs({
  options: { counterexamples: { type: 'boolean', default: false }, json: { type: 'string' } },
})
const started = performance.now()
const solver = await startSolver()
let failures = 0
let proved = 0
let refuted = 0

const proofs = obligations()
const textOf = ({ formulas }: Obligation): string => formulas.join('\n')
const texts = new Set(proofs.map(textOf))
for (const one of proofs) await prove(one)
if (!(await solver.solve(beginning())).isSatisfiable) fail('There is no first state')
for (const action of actionsFrom(STATE)) {
  const { isSatisfiable } = await solver.solve(enabling(action))
  if (!isSatisfiable) fail(`${action.name} contradicts the invariant`)
}
for (const wrong of WRONG) await refute(wrong)
solver.close()

const seconds = (performance.now() - started) / 1000
console.log(
  `${proofs.length} obligations, ${WRONG.length} wrong variants, ${failures} failures, ${seconds.toFixed(1)} s`,
)
await writeFigures(values.json, { obligations: proofs.length, proved, wrong: WRONG.length, refuted, seconds })
if (failures > 0) process.exitCode = 1

async function prove(one: Obligation): Promise<void> {
  const begun = performance.now()
  const { isSatisfiable, model } = await solver.solve(one.formulas)
  const ms = (performance.now() - begun).toFixed(0)
  const verdict = isSatisfiable ? 'FAILS' : 'holds'
  console.log(`${one.step.padEnd(12)} ${one.lemma.padEnd(40)} ${verdict} ${ms.padStart(6)} ms`)
  if (isSatisfiable) fail(model)
  else proved += 1
}

async function refute(wrong: Wrong): Promise<void> {
  // The obligations of the steps that the broken rule does not change are those above.
  for (const one of obligations(wrong).filter((each) => !texts.has(textOf(each)))) {
    const { isSatisfiable, model } = await solver.solve(one.formulas)
    if (!isSatisfiable) continue
    console.log(`wrong: ${wrong.padEnd(36)} ${one.step} breaks "${one.lemma}"`)
    if (values.counterexamples) console.log(model)
    refuted += 1
    return
  }
  fail(`wrong: ${wrong} breaks nothing`)
}

function fail(why: string): void {
  failures += 1
  console.log(why)
}
