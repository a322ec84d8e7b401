# What every build shares: the lists of sources, where the keys are, and the check of the clock crossings.

# The files of a list, below the root.
proc portcullis_sources {root list} {
    set files {}
    set handle [open [file join $root $list]]
    foreach line [split [read $handle] "\n"] {
        set line [string trim $line]
        if {$line ne "" && ![string match "+*" $line]} { lappend files [file join $root $line] }
    }
    close $handle
    return $files
}

# The folder of portcullis_key.vh: the builder's own, or the public test key's. A production package inside the repository is refused.
proc portcullis_key_dir {root} {
    if {![info exists ::env(PORTCULLIS_KEY_DIR)] || $::env(PORTCULLIS_KEY_DIR) eq ""} {
        puts "portcullis: no PORTCULLIS_KEY_DIR; this build has the PUBLIC TEST KEY and is for trials only"
        return [file join $root rtl/shells/common]
    }
    set folder [file normalize $::env(PORTCULLIS_KEY_DIR)]
    if {![file exists [file join $folder portcullis_key.vh]]} {
        error "portcullis: `$folder` has no portcullis_key.vh; see docs/how-to/aws-f2.md and docs/how-to/alveo.md"
    }
    if {[string match "[file normalize $root]/*" "$folder/"]} {
        error "portcullis: `$folder` is inside the repository; keep a secret out of it"
    }
    return $folder
}

# The AES key file of a build with a production key, which is encrypted or is not made at all; a trial's build has none.
proc portcullis_aes_key {root} {
    if {![info exists ::env(PORTCULLIS_KEY_DIR)] || $::env(PORTCULLIS_KEY_DIR) eq ""} { return "" }
    if {![info exists ::env(PORTCULLIS_AES_KEY)] || $::env(PORTCULLIS_AES_KEY) eq ""} {
        error "portcullis: a bitstream with a secret must be encrypted: PORTCULLIS_AES_KEY names the .nky file; see docs/how-to/alveo.md"
    }
    set file [file normalize $::env(PORTCULLIS_AES_KEY)]
    if {![file isfile $file]} { error "portcullis: there is no key file `$file`" }
    if {[string match "[file normalize $root]/*" $file]} {
        error "portcullis: `$file` is inside the repository; keep a secret out of it"
    }
    return $file
}

# Reports the crossings between clocks to a file, and stops the build at a critical one. The report is read as text, because not
# every release has a command that lists what was found.
proc portcullis_check_cdc {file} {
    report_cdc -details -file $file
    set handle [open $file]
    set text [read $handle]
    close $handle
    if {![regexp {CDC Report} $text]} { error "portcullis: `$file` is no report of clock crossings" }
    set critical [regexp -all -line {^.*\mCritical\M.*$} $text]
    if {$critical != 0} { error "portcullis: $critical lines of `$file` are critical; no bitstream is written" }
}
