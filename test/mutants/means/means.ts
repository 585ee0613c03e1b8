import type { Mutant } from '../mutants.ts'

/** The ways to find a defect. */
export const MEANS = ['types', 'unit', 'spec', 'edges', 'explorer', 'simulator', 'traces', 'processes'] as const

export type Means = (typeof MEANS)[number]

/**
 * Whether the defect can show in this way. Only the elector has a model, only the core runs in simulated fleets, and only core and
 * kubernetes run in processes.
 */
export function canShow(means: Means, { file }: Pick<Mutant, 'file'>): boolean {
  if (means === 'edges' || means === 'explorer') return isOfElector(file)
  if (means === 'processes') return file.startsWith('packages/core/src/') || file.startsWith('packages/kubernetes/src/')
  return means === 'simulator' || means === 'traces' ? file.startsWith('packages/core/src/') : true
}

/** Whether a file is part of the elector, whose every step a trace shows. */
export function isOfElector(file: string): boolean {
  return file.startsWith('packages/core/src/election/')
}
