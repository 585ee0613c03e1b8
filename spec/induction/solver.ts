import { init, Z3_lbool } from 'z3-solver'
import { DECLARATIONS } from './state.ts'

/** The solver Z3, compiled to WebAssembly. */
export interface Solver {
  /** Whether all formulas together have a model, and that model. */
  readonly solve: (formulas: readonly string[]) => Promise<Verdict>
  readonly close: () => void
}

interface Verdict {
  readonly isSatisfiable: boolean
  /** @default empty, if there is no model */
  readonly model: string
}

/** Starts the solver. @throws Error if it refuses a formula, or cannot decide. */
export async function startSolver(): Promise<Solver> {
  const { Z3, em } = await init()
  return {
    solve: async (formulas) => {
      const context = Z3.mk_context(Z3.mk_config())
      const solver = Z3.mk_solver(context)
      Z3.solver_inc_ref(context, solver)
      Z3.solver_from_string(context, solver, [DECLARATIONS, ...formulas].join('\n'))
      const verdict = await Z3.solver_check(context, solver)
      if (verdict === Z3_lbool.Z3_L_UNDEF)
        throw new Error(`The solver did not decide: ${Z3.solver_get_reason_unknown(context, solver)}`)
      const isSatisfiable = verdict === Z3_lbool.Z3_L_TRUE
      const model = isSatisfiable ? Z3.model_to_string(context, Z3.solver_get_model(context, solver)) : ''
      Z3.solver_dec_ref(context, solver)
      Z3.del_context(context)
      return { isSatisfiable, model }
    },
    close: () => (em as { readonly PThread: { terminateAllThreads(): void } }).PThread.terminateAllThreads(),
  }
}
