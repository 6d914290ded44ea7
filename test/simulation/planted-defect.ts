/** A mend taken back: textual edits that bring one defect back. */
export interface PlantedDefect {
  readonly id: string;
  readonly title: string;
  /** What meets it, where no run of the simulator can. */
  readonly metBy?: string;
  readonly edits: readonly { readonly file: string; readonly find: string; readonly replace: string }[];
}
