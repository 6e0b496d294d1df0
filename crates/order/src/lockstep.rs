//! Lockstep: nobody takes the next step before it knows everybody's input for this one (seed 004).
