import { configOf, WRONG_MODELS } from '../../../spec/models.ts'
import { locateTlc, runTlc } from '../../../spec/tlc.ts'

/** The mutants that break a rule which the model has as well, and the variant of the model with that rule broken. */
const VARIANTS: Readonly<Record<string, string>> = {
  B2: 'validity from the response',
  B4: 'validity from reading back',
  B15: 'second renewal in one second',
  B22: 'deleted lease created and acted on',
  B24: 'release before the drain',
  E6: 'change judged by version',
  E8: 'clocks without a margin',
  E12: 'transfer without a nonce',
  E17: 'missed turns kept',
  E20: 'expiry by an edited duration',
  E21: 'restored store taken for a late watch',
  E22: 'epoch from the store alone',
  E31: 'ghosts kept by a transfer',
  E57: 'named holder believed',
  E60: 'gap not noticed',
  E61: 'renewals before an edit forgotten',
  E62: 'process named while it waits',
  E63: 'stuck lease freed too early',
  E64: 'stuck lease freed with new times',
  E72: 'crashed standby not asked',
}

/** Checks the model with the rule broken that the mutant breaks, if it has that rule. Tells the invariant and the number of steps. */
export async function breakRule(id: string): Promise<string | undefined> {
  const variant = VARIANTS[id]
  if (variant === undefined) return undefined
  const model = WRONG_MODELS.find(({ wrong }) => wrong[0] === variant)
  if (model === undefined) throw new Error(`There is no variant of the model with \`${variant}\``)
  const jar = await locateTlc()
  const run = { module: model.module ?? 'Tenure', config: configOf(model), workers: 1, memoryMb: 1500 }
  const { violated, trace } = await runTlc(jar, run)
  return violated === undefined ? undefined : `"${variant}" violates ${violated} after ${trace.length} steps`
}
