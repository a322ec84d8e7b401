//! The text part of an image: the classes that a card's text lane finds itself, and how the banks use them.

use crate::error::{BankKind, ImageError};
use crate::image::TableImage;
use portcullis_core::class::ClassSet;
use portcullis_core::wire::{Row, RowKind};
use portcullis_lane::{CompiledLane, LaneCoverage, LaneSource, LaneTableLimits, LeftOut, compile};

/// An image for cards with a text lane, and the result of the compilation of its tables.
#[derive(Clone, Debug)]
pub struct TextImage {
    pub image: TableImage,
    /// The tables, and the coverage of each class.
    pub compiled: CompiledLane,
}

/// The lane's classes that a row forbids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForbiddenClasses {
    /// Forbidden whatever the host describes, because the lane finds all forms of the class.
    pub enforced: ClassSet,
    /// Forbidden whatever the host describes, for the forms that the lane finds; only the host finds the other forms.
    pub in_part: ClassSet,
    /// Forbidden only under further conditions. A host that describes the fields of these falsely avoids the row.
    pub conditional: ClassSet,
}

impl TextImage {
    /// The classes that open a gate and that the lane does not confirm: what the host says about them counts.
    #[must_use]
    pub fn unconfirmed(&self) -> ClassSet {
        let confirmed = self.image.text().map_or(0, |text| text.opening.get());
        ClassSet(self.image.directions().opening.0 & !confirmed)
    }

    /// The classes of the lane that `row` forbids.
    #[must_use]
    pub fn forbidden(&self, row: &Row) -> ForbiddenClasses {
        let Some(permit_all) = self.image.rows(BankKind::Entropy).last() else { return ForbiddenClasses::default() };
        if row.kind == u8::from(RowKind::Permit) {
            return ForbiddenClasses::default();
        }
        let opening = self.image.text().map_or(0, |text| text.opening.get());
        let all = [row.classes_all.get(), row.established_all.get()];
        let any = [row.classes_any.get(), row.established_any.get()];
        let named = all.iter().chain(&any).fold(0, |set, classes| set | classes);
        let classes = ClassSet(named & self.compiled.tables.held().0 & !opening);
        // Equal to the row that permits everything if `row` has no condition but its classes.
        let unconditional = Row {
            kind: permit_all.kind,
            rule: permit_all.rule,
            classes_all: permit_all.classes_all,
            classes_any: permit_all.classes_any,
            established_all: permit_all.established_all,
            established_any: permit_all.established_any,
            ..*row
        };
        let conditions = all.iter().map(|all| all.count_ones()).chain(any.iter().map(|any| u32::from(*any != 0)));
        if unconditional != *permit_all || conditions.sum::<u32>() != 1 {
            return ForbiddenClasses { conditional: classes, ..ForbiddenClasses::default() };
        }
        let whole = self.compiled.classes.iter().filter(|class| class.is_whole());
        let whole = whole.map(|class| class.id).collect::<ClassSet>().0;
        ForbiddenClasses {
            enforced: ClassSet(classes.0 & whole),
            in_part: ClassSet(classes.0 & !whole),
            conditional: ClassSet::EMPTY,
        }
    }
}

impl TableImage {
    /// This image with a text part. `source` has the forms of the policy's classes; `judged` are the classes whose
    /// hits the host counts only in sentences with a certain polarity.
    ///
    /// A class stays with the host if
    /// - it opens a gate in one row and closes a gate in another;
    /// - it closes a gate, and the host judges its polarity, because the lane does not detect a negation;
    /// - it opens a gate, and the lane misses some of its forms, because honest texts would be refused.
    ///
    /// Errors: as [`TableImage::from_bytes`].
    pub fn with_text_lane(
        &self,
        source: &LaneSource,
        limits: &LaneTableLimits,
        judged: ClassSet,
    ) -> Result<TextImage, ImageError> {
        let directions = self.directions();
        let (opening, closing) = (directions.opening.0, directions.closing.0);
        let mut source = source.clone();
        keep_on_host(&mut source, ClassSet(opening & closing), "rules read it both ways");
        keep_on_host(&mut source, ClassSet(closing & judged.0), "the host judges its polarity");
        let compiled = loop {
            let compiled = compile(&source, limits);
            let partly =
                compiled.classes.iter().filter(|class| class.sight() == LaneCoverage::Part).map(|class| class.id);
            let partly = ClassSet(partly.collect::<ClassSet>().0 & opening);
            if partly == ClassSet::EMPTY {
                break compiled;
            }
            // Without these classes, the compiler may find another place for the others, so it runs again.
            keep_on_host(&mut source, partly, "it opens a gate, and the lane finds only some of its forms");
        };
        let claimed = compiled.classes.iter().filter(|class| !class.forms.is_empty()).map(|class| class.id);
        let held = compiled.tables.held();
        if claimed.collect::<ClassSet>() != held {
            return Err(ImageError::Text("the tables do not find every class that they were compiled for"));
        }
        let image = self.with_text(compiled.tables.encode().into(), ClassSet(held.0 & opening))?;
        Ok(TextImage { image, compiled })
    }
}

/// Leaves all forms of `classes` to the host, with this reason.
fn keep_on_host(source: &mut LaneSource, classes: ClassSet, reason: &str) {
    for class in source.classes.iter_mut().filter(|class| classes.contains(class.id)) {
        let left_out = class.forms.drain(..).map(|form| LeftOut { form: form.name, reason: reason.to_owned() });
        class.left_out.extend(left_out.collect::<Vec<_>>());
    }
}
