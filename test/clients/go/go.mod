module fairlead/steps

go 1.25.0
