//! Files that tell agents about this program: shown, written and removed for `agent`, `init --agent` and
//! `deinit`.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use codeweaver_mcp::agents::plan::{Planner, State, receipt_id};
use codeweaver_mcp::agents::product::{PRODUCTS, Product};
use codeweaver_mcp::clients::ClientError;
use codeweaver_mcp::clients::places::Environment;
use codeweaver_mcp::clients::plan::{Plan, Step};
use codeweaver_mcp::clients::receipt::Receipts;

use super::client_setup::{print_diff, write_plan};
use super::context::Context;
use super::error::CliError;
use super::render::shown_path;

/// Consent to changes, which are shown before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// Nothing is written.
    DryRun,
    /// The user is asked; without a terminal, it is an error.
    Ask,
    Given,
}

/// The files of a project or of the user, and the records of what was written.
pub struct AgentFiles {
    environment: Environment,
    receipts: Receipts,
    root: Option<PathBuf>,
}

impl AgentFiles {
    /// The files of the project at `root`, or the user's own.
    pub fn new(root: Option<PathBuf>) -> AgentFiles {
        let environment = Environment::from_process();
        let receipts = Receipts::load(&environment);
        AgentFiles { environment, receipts, root }
    }

    fn planner(&self) -> Planner<'_> {
        Planner { environment: &self.environment, receipts: &self.receipts, root: self.root.as_deref() }
    }

    /// The products that are used here.
    pub fn used(&self) -> Vec<&'static Product> {
        PRODUCTS.iter().filter(|product| self.planner().is_used(product)).collect()
    }

    /// Writes the files of `products`.
    ///
    /// # Errors
    /// A file cannot be edited safely, then none is written; or the user does not consent.
    pub fn install(
        &mut self,
        products: &[&'static Product],
        consent: Consent,
        context: &Context,
    ) -> Result<(), CliError> {
        let mut steps = Vec::new();
        for product in products {
            let planned = self.planner().install(product)?;
            steps.extend(planned.into_iter().map(|step| (*product, step)));
        }

        // Planned as a whole, so that an error leaves every file as it was.
        self.carry_out(steps, consent, context)
    }

    /// Removes what was written to the files of `products`. Files that never had it are not mentioned, unless
    /// none had it.
    ///
    /// # Errors
    /// As [`Self::install`].
    pub fn uninstall(
        &mut self,
        products: &[&'static Product],
        consent: Consent,
        context: &Context,
    ) -> Result<(), CliError> {
        let mut steps = Vec::new();
        for product in products {
            let planned = self.planner().uninstall(product)?;
            let planned = planned.into_iter().filter(|step| !matches!(step, Step::Absent { .. }));
            steps.extend(planned.map(|step| (*product, step)));
        }

        if steps.is_empty() {
            context.note("Nothing to remove.");
        }
        self.carry_out(steps, consent, context)
    }

    /// Removes what this user has written to the project. What was changed since is kept and named.
    pub fn undo(&mut self, context: &Context) -> Result<(), CliError> {
        let Some(root) = self.root.clone() else { return Ok(()) };

        for product in &PRODUCTS {
            if !self.receipts.has_below(&receipt_id(product), &root) {
                continue;
            }
            match self.planner().uninstall(product) {
                Ok(steps) => {
                    let steps = steps.into_iter().map(|step| (product, step)).collect();
                    self.write(steps, context)?;
                }
                Err(error @ ClientError::Guide { .. }) => context.warn(&error.to_string()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The files of `product` with their states.
    pub fn states(&self, product: &'static Product) -> Result<Vec<(PathBuf, State)>, ClientError> {
        self.planner().states(product)
    }

    fn carry_out(
        &mut self,
        steps: Vec<(&'static Product, Step)>,
        consent: Consent,
        context: &Context,
    ) -> Result<(), CliError> {
        let mut n_changes = 0;
        for (_, step) in &steps {
            if let Step::Change(plan) = step {
                print_diff(context, plan)?;
                n_changes += 1;
            }
        }

        let is_allowed = match consent {
            _ if n_changes == 0 => true,
            Consent::DryRun => return Ok(()),
            Consent::Given => true,
            Consent::Ask if context.is_interactive => is_confirmed(n_changes)?,
            Consent::Ask => {
                return Err(CliError::new(
                    "nothing is written",
                    "there is no terminal to ask on",
                    "add --yes to write these changes",
                ));
            }
        };
        if is_allowed { self.write(steps, context) } else { Ok(()) }
    }

    fn write(&mut self, steps: Vec<(&'static Product, Step)>, context: &Context) -> Result<(), CliError> {
        for (product, step) in steps {
            match step {
                Step::Keep { file } => print_step(context, "Up to date:", product, &file)?,
                Step::Absent { .. } => {}

                Step::Change(plan) => {
                    let Plan { receipt, file, .. } = plan.as_ref();
                    let label = if receipt.is_some() { "Installed:" } else { "Removed:" };
                    write_plan(context, &receipt_id(product), &plan, &mut self.receipts)?;
                    print_step(context, label, product, file)?;
                }
            }
        }
        Ok(())
    }
}

fn is_confirmed(n_changes: usize) -> Result<bool, CliError> {
    let these = if n_changes == 1 { "this change" } else { "these changes" };
    eprint!("Write {these}? [y/N] ");

    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn print_step(context: &Context, label: &str, product: &Product, file: &Path) -> Result<(), CliError> {
    let mut out = context.out();
    let label = context.paint.good(format!("{label:<11}"));
    writeln!(out, "{label} {:<14}  {}", product.name, shown_path(file))?;
    out.flush()?;
    Ok(())
}
